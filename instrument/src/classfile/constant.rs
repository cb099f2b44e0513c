//! Constants as instructions name them (JVMS §4.4), for those who show code to people.

use super::cursor::Error;
use super::pool::{MemberRef, Pool, tag};

/// What an entry of the constant pool says, its references followed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constant<'a> {
    /// `int`
    Integer(i32),
    /// `float`
    Float(f32),
    /// `long`
    Long(i64),
    /// `double`
    Double(f64),
    /// Internal name of a class, or descriptor of an array class.
    Class(&'a [u8]),
    /// Modified UTF-8.
    String(&'a [u8]),
    /// A field.
    Field(MemberRef<'a>),
    /// A method of a class.
    Method(MemberRef<'a>),
    /// A method of an interface.
    InterfaceMethod(MemberRef<'a>),
    /// A method handle: reference kind (JVMS table 5.4.3.5-A) and member.
    MethodHandle(u8, MemberRef<'a>),
    /// A method descriptor.
    MethodType(&'a [u8]),
    /// A constant that a bootstrap method computes: the method's number, name and descriptor.
    Dynamic(u16, MemberRef<'a>),
    /// A call site that a bootstrap method links.
    InvokeDynamic(u16, MemberRef<'a>),
}

impl<'a> Pool<'a> {
    /// What an instruction means by a constant pool index. Fails where nothing stands there that an instruction may name.
    pub fn constant(&self, index: u16) -> Result<Constant<'a>, Error> {
        let tag = self.tag(index)?;
        let mut c = self.entry(index, tag, "a constant")?;
        Ok(match tag {
            tag::INTEGER => Constant::Integer(c.u4()? as i32),
            tag::FLOAT => Constant::Float(f32::from_bits(c.u4()?)),
            tag::LONG => Constant::Long(c.u8()? as i64),
            tag::DOUBLE => Constant::Double(f64::from_bits(c.u8()?)),
            tag::CLASS => Constant::Class(self.class_name(index)?),
            tag::STRING => Constant::String(self.utf8(c.u2()?)?),
            tag::FIELDREF => Constant::Field(self.member(index)?),
            tag::METHODREF => Constant::Method(self.member(index)?),
            tag::INTERFACE_METHODREF => Constant::InterfaceMethod(self.member(index)?),
            tag::METHOD_HANDLE => Constant::MethodHandle(c.u1()?, self.member(c.u2()?)?),
            tag::METHOD_TYPE => Constant::MethodType(self.utf8(c.u2()?)?),
            tag::DYNAMIC => Constant::Dynamic(c.u2()?, self.member(index)?),
            tag::INVOKE_DYNAMIC => Constant::InvokeDynamic(c.u2()?, self.member(index)?),
            _ => return Err(c.error("a constant that no instruction names")),
        })
    }
}
