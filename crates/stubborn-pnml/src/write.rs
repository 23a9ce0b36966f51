//! A net as PNML, for other tools and for comparing unfoldings.
//!
//! What is written is read back as the same net: ids, names, weights, markings and units. An inhibitor arc
//! says so in its attribute `type`, as TAPAAL's do.

use std::fmt;

use quick_xml::escape::escape;

use stubborn_net::PlaceId;
use stubborn_net::{Arc, Net, Weight};
use stubborn_net::{Nupn, UnitId};

/// The net as a PNML document.
pub fn pnml(net: &Net) -> impl fmt::Display + '_ {
    Document(net)
}

struct Document<'n>(&'n Net);

impl fmt::Display for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let net = self.0;
        let id = escape(net.name());
        writeln!(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        writeln!(
            f,
            "<pnml xmlns=\"http://www.pnml.org/version-2009/grammar/pnml\">"
        )?;
        let kind = "http://www.pnml.org/version-2009/grammar/ptnet";
        writeln!(f, "<net id=\"{id}\" type=\"{kind}\">\n<page id=\"page\">")?;
        for place in net.places() {
            let id = escape(net.place_name(place));
            write!(f, "<place id=\"{id}\">")?;
            name(f, net.place_label(place))?;
            let tokens = net.initial(place);
            if tokens > 0 {
                write!(f, "<initialMarking><text>{tokens}</text></initialMarking>")?;
            }
            writeln!(f, "</place>")?;
        }
        for transition in net.transitions() {
            let id = escape(net.transition_name(transition));
            write!(f, "<transition id=\"{id}\">")?;
            name(f, net.transition_label(transition))?;
            writeln!(f, "</transition>")?;
        }
        let mut number = 0;
        for transition in net.transitions() {
            let t = net.transition_name(transition);
            let place = |arc: &Arc<PlaceId>| net.place_name(arc.node);
            for input in net.pre(transition) {
                arc(f, &mut number, (place(input), t), "", input.weight)?;
            }
            for output in net.post(transition) {
                arc(f, &mut number, (t, place(output)), "", output.weight)?;
            }
            for inhibitor in net.inhibitors(transition) {
                let kind = " type=\"inhibitor\"";
                arc(
                    f,
                    &mut number,
                    (place(inhibitor), t),
                    kind,
                    inhibitor.weight,
                )?;
            }
        }
        if let Some(units) = net.units() {
            write_units(f, net, units)?;
        }
        writeln!(f, "</page>\n</net>\n</pnml>")
    }
}

fn name(f: &mut fmt::Formatter<'_>, label: &str) -> fmt::Result {
    write!(f, "<name><text>{}</text></name>", escape(label))
}

fn arc(
    f: &mut fmt::Formatter<'_>,
    number: &mut usize,
    (source, target): (&str, &str),
    kind: &str,
    weight: Weight,
) -> fmt::Result {
    let (source, target) = (escape(source), escape(target));
    write!(
        f,
        "<arc id=\"arc{number}\" source=\"{source}\" target=\"{target}\"{kind}"
    )?;
    *number += 1;
    if weight == 1 {
        return writeln!(f, "/>");
    }
    writeln!(f, "><inscription><text>{weight}</text></inscription></arc>")
}

fn write_units(f: &mut fmt::Formatter<'_>, net: &Net, units: &Nupn) -> fmt::Result {
    let count = units.unit_count();
    let mut places: Vec<Vec<PlaceId>> = vec![Vec::new(); count];
    for place in net.places() {
        places[units.unit_of(place).0 as usize].push(place);
    }
    let mut inner: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut root = 0;
    for unit in 0..count as u32 {
        match units.parent(UnitId(unit)) {
            Some(around) => inner[around.0 as usize].push(unit),
            None => root = unit,
        }
    }
    let safe = units.is_safe();
    writeln!(f, "<toolspecific tool=\"nupn\" version=\"1.1\">")?;
    let (transitions, arcs) = (net.transition_count(), net.arc_count());
    let size = net.place_count();
    writeln!(
        f,
        "<size places=\"{size}\" transitions=\"{transitions}\" arcs=\"{arcs}\"/>"
    )?;
    writeln!(
        f,
        "<structure units=\"{count}\" root=\"u{root}\" safe=\"{safe}\">"
    )?;
    for unit in 0..count {
        write!(f, "<unit id=\"u{unit}\"><places>")?;
        for place in &places[unit] {
            write!(f, "{} ", escape(net.place_name(*place)))?;
        }
        write!(f, "</places><subunits>")?;
        for unit in &inner[unit] {
            write!(f, "u{unit} ")?;
        }
        writeln!(f, "</subunits></unit>")?;
    }
    writeln!(f, "</structure>\n</toolspecific>")
}
