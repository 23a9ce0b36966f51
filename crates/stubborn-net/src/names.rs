//! Many short strings in one allocation: the names of a million nodes stay cheap.

/// A list of strings, addressed by position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a string and returns its position.
    pub fn push(&mut self, name: &str) -> usize {
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.ends.len() - 1
    }

    /// The string at a position; empty where there is none.
    pub fn get(&self, index: usize) -> &str {
        let Some(&end) = self.ends.get(index) else {
            return "";
        };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..end]
    }

    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_as_they_were() {
        let mut names = Names::new();
        for name in ["a", "", "çé", "p.1"] {
            names.push(name);
        }
        assert_eq!(names.iter().collect::<Vec<_>>(), ["a", "", "çé", "p.1"]);
        assert_eq!(names.get(9), "");
        assert_eq!(names.len(), 4);
    }
}
